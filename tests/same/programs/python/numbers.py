# Decimals, fractions, statistics, big numbers and floats.
import cmath
import decimal
import fractions
import math
import random
import statistics

decimal.getcontext().prec = 40
print(decimal.Decimal(2).sqrt(), decimal.Decimal("0.1") + decimal.Decimal("0.2"))
try:
    decimal.Decimal(1) / 0
except decimal.DivisionByZero as e:
    print(repr(e))
print(fractions.Fraction("0.125") + fractions.Fraction(1, 3), 0.1 + 0.2, 1e308 * 10)
print(2**200, (-7) // 2, -7 % 3, pow(3, -1, 11), int("ff", 16), math.isqrt(10**30))
print(round(2.5), round(-0.5), float("nan"), math.fsum([0.1] * 10), (0.1).hex())
print(math.gamma(5.5), math.erf(0.3), math.sin(1e22), cmath.exp(1j), math.comb(50, 25))
print(statistics.mean([1, 2, 4]), statistics.stdev([1, 2, 4]), statistics.quantiles(range(9)))
r = random.Random(42)
print(r.random(), r.sample(range(100), 5), r.gauss(0, 1), r.getrandbits(70))
random.seed("text")
print(random.randint(1, 10**9), random.choices("abc", k=5))
try:
    print(10**5000)
except ValueError as e:
    print(e)
