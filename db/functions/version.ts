// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611292107;
export const functionsDigest = '422908b5fff6b742e2898a523aefcfed9697bab54355f4817fef3dbc6058c709';
