// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231405;
export const functionsDigest = '3c5afe4bbdf6afc88c42c37f31283409d87a02b22f67ebda74eb4ea1b8f9e994';
