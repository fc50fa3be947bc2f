// Package queue is what the drivers of systems without offsets have in common. Consumers of such a system take
// messages from queues, as with RabbitMQ and Pulsar.
//
// A queue stands for a partition. [Lanes] gives each message its queue and its stamp, and notes its outcome.
// [Arrivals] counts what was read: a message's number in the order of arrival stands for its offset.
// [Events] is what both watch beside the load, and [Property] a setting of their clients.
package queue
