// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231808;
export const functionsDigest = 'ae3dbe67d06bf6e78d4fd48c9fb978de0ecbace803d158a53d2a7b13503bfa6a';
