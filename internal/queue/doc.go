// Package queue is what drivers have in common that load systems without offsets: message brokers whose
// consumers take messages from queues, such as RabbitMQ and Pulsar.
//
// A queue stands for a partition. [Lanes] gives each message its queue and its stamp, and notes its outcome.
// [Arrivals] counts what was read: a message's number in the order of arrival stands for its offset.
package queue
