// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231354;
export const functionsDigest = '026be8873a110f4be2efd307c32b1243d1fa915f9b7c0847c9dc4e906d9e7e61';
