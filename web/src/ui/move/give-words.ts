/** Words of the dialog in which an admin gives a record to a person; it is loaded on its own. */
const COPIES = 'The new owner gets copies of the secrets that it reads.';

export const words = {
  give: 'Give',
  title: (name: string) => `Give ${name} to another person`,
  /** What it means for each kind. */
  means: {
    agent: `All its versions go along. ${COPIES}`,
    workflow: `Its revisions and its schedule go along, and runs stay with who started them. ${COPIES}`,
    file: 'Its content and its links go along.',
    webhook:
      'It keeps its address, its secret and its deliveries. From now on it sends the events of the new ' +
      'owner there, so look at the address first.',
    hook:
      'It keeps its address, and its calls become events of the new owner, who gets copies of the secrets ' +
      'that sign them.',
    source:
      'It says from now on who may send events of this source to the new owner. With whom it is shared ' +
      'stays.',
  },
  end: 'Whoever has it now loses it. Only an admin can give it back.',
  to: 'To',
  toHelp: 'The username of the new owner.',
};
