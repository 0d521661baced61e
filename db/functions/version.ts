// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230558;
export const functionsDigest = 'ced43dd3b3c84fd90df6a71ff62b6bc5f8bf6d1b9ead3b5e0d009df1afb4847b';
