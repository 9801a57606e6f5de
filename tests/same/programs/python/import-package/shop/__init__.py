print("shop begins")
