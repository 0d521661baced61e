// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300229;
export const functionsDigest = 'ef5ebeb6f4b730d613a5770b80dcd10ac13b0b25e3da9568a290f2609fc527be';
