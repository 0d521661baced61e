// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611291046;
export const functionsDigest = '4e7a802118017595091294bbf5f773616f86cfbd0d6beca60d59a2be66f7dcfc';
