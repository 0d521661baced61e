export const words = { noChoice: '–' };
