// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611300257;
export const functionsDigest = '91da01eaf7bff3af71a00367c0a2620f39d7b8ea3c6e1c8265b686a044d8e51c';
