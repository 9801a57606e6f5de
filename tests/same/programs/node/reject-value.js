// A rejection with no error is told with Node's own words.
Promise.reject('just text');
