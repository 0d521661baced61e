// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611232204;
export const functionsDigest = 'd63798654f13a5b39726cf4378fc2dbee9d7a03454ba7db24748d3978c407bd6';
