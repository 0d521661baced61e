export const eraseWords = {
  erase: 'Erase',
  title: (name: string) => `Erase the personal data of ${name}`,
  help: 'The account is emptied and can never be used again. History keeps its id. It cannot be undone.',
  owned: 'Hand over first (cadenza user transfer)',
  removed: 'Removed',
  kept: 'Stays, without the name',
  nothing: 'nothing',
  runs: 'Ended runs',
  runsHelp: 'remove: with their inputs, outputs and events',
  confirm: 'Username',
  confirmHelp: 'Type it to confirm.',
  done: (name: string) => `The data of ${name} is erased.`,
  underWay: (name: string) => `The account of ${name} is emptied; the rest follows within seconds.`,
  personalData: 'Personal data',
  counted: (kind: string, count: number | null) =>
    count === null ? kind.replaceAll('_', ' ') : `${kind.replaceAll('_', ' ')} (${count})`,
};
