// Written by `npm run schema`: the UTC minute of the last change of a function.
// `migrate` never replaces functions of a higher version.
export const functionsVersion = 202611230353;
export const functionsDigest = '600a0f38be848640a529852d56351bb782794e9e81fb30525eb1227906dc26ef';
