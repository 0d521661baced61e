// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611281716;
export const functionsDigest = '887315d99ecc5bad9eb07cf362c295373c0b6f106d19f540f8f0444173f89356';
