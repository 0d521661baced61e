// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300241;
export const functionsDigest = 'cae00de11ebcffef45c55526cd98b6dde081ad1003c734427415e47b0e4eadc9';
