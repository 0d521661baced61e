// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611292248;
export const functionsDigest = '26f86304c9f0b8c3d9d26acafcaf1827a93b88d1388d97628cd6ba482178d12b';
