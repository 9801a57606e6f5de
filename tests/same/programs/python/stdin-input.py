# input() reads lines, and its prompts go to standard output.
name = input("name? ")
age = int(input("age? "))
print(f"\nhello {name}, {age + 1}")
import sys
print([line for line in sys.stdin])
input()
