// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611292024;
export const functionsDigest = '078c0cff4b7c25ee3e76da6bc1d69d409201812e53870bce35f2fb5a7806390f';
