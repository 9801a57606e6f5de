# Packages in the user's own directory are found.
import mine
print(mine.__file__)
