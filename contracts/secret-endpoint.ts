/** The endpoint that stores a secret, as messages name it. The command line shows its own command instead. */

/** Of the caller's own secret, or of one of the team. A name that a URL cannot have as it is stays open. */
export function secretEndpoint(name: string, teamId: string | null | undefined): string {
  const path = `PUT /secrets/${/^[\w.-]+$/.test(name) ? name : '{name}'}`;
  return teamId ? `${path}?team_id=${teamId}` : path;
}

/** Both, where it is not known whether a team holds what needs the secret. */
export const secretEndpoints = (name: string): string =>
  `${secretEndpoint(name, null)}, or for a team with ${secretEndpoint(name, '{id}')}`;
