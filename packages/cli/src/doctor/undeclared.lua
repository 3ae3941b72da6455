-- Reads a key that is not declared, as a release does with the keys that it finds in a queue.
return redis.call("EXISTS", ARGV[1])
