// Enums are objects, with numbers both ways, texts and computed members.
enum Color { Red, Green = 5, Blue }
enum Level { Low = 'low', High = 'HIGH' }
const enum Inline { A = 1 << 2, B = A | 1, C = 'abc'.length }
enum Mixed { No = 0, Yes = 'yes', Len = 'abcd'.length }
console.log(Color, Color[5], Color.Blue, Level, Level.High, Inline.B, Inline.C, Mixed);
console.log(Object.values(Color).filter((v) => typeof v === 'number'), Color[Color.Green]);
enum Color { More = 100 }
console.log(Color[100]);
