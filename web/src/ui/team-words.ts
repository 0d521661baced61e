/** Words of the choice of a team. */
export const words = {
  team: 'Team',
  ours: 'Mine and my teams’',
  mine: 'Mine',
  any: 'Any team or none',
  holder: 'For whom',
  me: 'For me',
  forTeam: (name: string) => `For ${name}`,
};
