# A syntax error in an imported module is shown with that module's line.
print("before")
import helper
