// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611222322;
export const functionsDigest = 'a63487c8e11e44323a4e1d38b51da815841daec53f647f770d669c1b1b2f5187';
