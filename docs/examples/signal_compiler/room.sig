mesh room=2 time=4
input mic : 8x256 room time
quiet = gain mic 0.5
safe = clip quiet 1.0
power = energy safe
output power
