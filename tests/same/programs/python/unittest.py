# unittest runs the program's tests and ends with 1 when one fails.
import unittest


class Tests(unittest.TestCase):
    def test_good(self):
        with self.assertRaises(KeyError):
            {}["x"]

    def test_bad(self):
        self.assertEqual([1, 2], [1, 3], "lists")

    def test_sub(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertNotEqual(n, 1)

    @unittest.skip("not now")
    def test_skipped(self): ...


unittest.main(verbosity=2)
