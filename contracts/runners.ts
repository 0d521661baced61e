/** Who may start a workflow, whatever their role (docs/teams.md#runners). */
export interface Runners {
  /** Ids or usernames; a known username is kept as its id. */
  users?: string[] | undefined;
  groups?: string[] | undefined;
  /** Every signed-in user. */
  everyone?: boolean | undefined;
}

export const MAX_RUNNERS = 100;
