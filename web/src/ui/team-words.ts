/** Words of the choice of a team. */
export const words = {
  team: 'Team',
  anybodys: 'Mine and those of all teams',
  mine: 'Mine',
  any: 'Any team or none',
  holder: 'For whom',
  me: 'For me',
  forTeam: (name: string) => `For ${name}`,
};
