/** Words of the choice of whose records a list shows. */
export const words = {
  owner: 'Whose',
  everybodys: 'Everybody’s',
  mine: 'Mine',
  of: (name: string) => `Those of ${name}`,
  person: 'Person',
  personHint: 'Person: username or id',
  column: 'Owner',
};
