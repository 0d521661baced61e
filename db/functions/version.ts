// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611281815;
export const functionsDigest = '1c0aa7c0a13f4a3a537fb09ba4147dbc06b676f895f56bc46d3528ec14d9f6e5';
