export const words = {
  noChoice: '–',
  uploading: (name: string) => `Uploading ${name} …`,
  remove: 'Remove',
  removeFile: (name: string) => `Remove ${name}`,
};
