// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611301035;
export const functionsDigest = 'ce3ef711a3a1aa517504563180f6d4991a1f1a3ceae43067d1707e6bff3241ab';
