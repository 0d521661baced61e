// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611232308;
export const functionsDigest = '339f201f85072b573d465fa685531919a8fc77e536e0ed199d598ac3c49d599d';
