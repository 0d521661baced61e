// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231012;
export const functionsDigest = '13c743f6220881e95b77ae4a0429681329a407e1891bb44012656d6a5f9a63d2';
