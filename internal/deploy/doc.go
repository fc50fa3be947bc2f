// Package deploy writes what starts agents: a systemd unit, manifests for Kubernetes, a compose
// file, a play for Ansible.
//
//	err := deploy.Kubernetes(w, deploy.Agents{Name: "kt-agent", Version: "1.2.0", Port: 7946, KeyFile: "kt.key"})
//
// It only writes text. Each text is a template beside this file, and begins with how it is used.
// Values of the user are quoted for the program that reads the text, so that it replaces nothing in
// them.
//
// The key is in a text only if Agents has it.
package deploy
