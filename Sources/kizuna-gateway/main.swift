print("kizuna-gateway")
