// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611291503;
export const functionsDigest = '09599ff02bcf2ef8533f9c349437c82bd2a5725f7a7f9d61b6512d61b44e9b79';
