// A syntax error shows the line, and nothing runs.
console.log('never');
const x = {;
