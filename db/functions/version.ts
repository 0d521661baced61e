// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611231408;
export const functionsDigest = '3e6aee9c694675fac75014b7d32ed4933ad8deefdab17453fbea9147e99a1812';
