// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611281804;
export const functionsDigest = '38f4a2d9f7481b7be11890c11b26f40d1f180655cda26e25900166b0f03ce6c3';
