-- Before Redis 5 a script may write after PUBSUB only with replicate_commands.
local mayAsk = redis.replicate_commands or redis.REDIS_VERSION_NUM
if redis.replicate_commands then redis.replicate_commands() end
