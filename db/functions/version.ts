// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231505;
export const functionsDigest = 'd4635e1deae02ca83463ed472005871537f914d3219b3f8b678f2ed39c33c5da';
