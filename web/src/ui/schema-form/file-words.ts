/** Texts of fields for files, which few forms have. */
export const words = {
  uploading: (name: string) => `Uploading ${name} …`,
  remove: 'Remove',
  removeFile: (name: string) => `Remove ${name}`,
  /** Names the list of the files of a field. */
  chosenFiles: (field: string) => `${field}: chosen files`,
  /** For screen readers, after each change. */
  filesCount: (count: number) => (count === 1 ? '1 file' : `${count} files`),
  mostFiles: (most: number) => (most === 1 ? 'At most 1 file.' : `At most ${most} files.`),
  tooManyFiles: (most: number, chosen: number) =>
    `At most ${most === 1 ? '1 file' : `${most} files`} can be chosen` +
    (chosen === 0 ? '.' : `, and there ${chosen === 1 ? 'is 1' : `are ${chosen}`}.`),
  ofFile: (name: string, problem: string) => `${name}: ${problem}`,
};
