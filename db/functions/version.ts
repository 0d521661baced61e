// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231810;
export const functionsDigest = '4bdd6288e5558a954e8a38ae16341a7f4499b0c2f406d9df05649d8a4ed5297f';
