# A source in another encoding says so in its second line.
# -*- coding: latin-1 -*-
print("café", ascii("café"))
