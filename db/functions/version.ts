// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231715;
export const functionsDigest = '65fd820c941c9d1dd3cb92d4d13552159818ec0570893244299fe51d803e2bb6';
