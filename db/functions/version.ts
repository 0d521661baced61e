// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230300;
export const functionsDigest = '7d90c3f306c9fd9b19a0206b367e83aab4355efd09ea261ab6998eea1bd04665';
